"""The kinds of issue events, and the lists in which they appear."""

# The kinds that only the list of events has.
NOT_SHOWN = frozenset(
    [
        "automatic_base_change_failed",
        "automatic_base_change_succeeded",
        "base_ref_changed",
        "deployment_environment_changed",
    ]
)
# The kinds that only the timeline has.
NOT_LISTED = frozenset(
    [
        "commented",
        "commit-commented",
        "committed",
        "cross-referenced",
        "line-commented",
        "reviewed",
        "unsubscribed",
    ]
)
BOTH = frozenset(
    [
        "added_to_project",
        "assigned",
        "blocked_by_added",
        "blocked_by_removed",
        "blocking_added",
        "blocking_removed",
        "closed",
        "connected",
        "convert_to_draft",
        "converted_note_to_issue",
        "converted_to_discussion",
        "demilestoned",
        "deployed",
        "disconnected",
        "head_ref_deleted",
        "head_ref_force_pushed",
        "head_ref_restored",
        "issue_type_added",
        "issue_type_changed",
        "issue_type_removed",
        "labeled",
        "locked",
        "marked_as_duplicate",
        "mentioned",
        "merged",
        "milestoned",
        "moved_columns_in_project",
        "parent_issue_added",
        "parent_issue_removed",
        "pinned",
        "ready_for_review",
        "referenced",
        "removed_from_project",
        "renamed",
        "reopened",
        "review_dismissed",
        "review_request_removed",
        "review_requested",
        "sub_issue_added",
        "sub_issue_removed",
        "subscribed",
        "transferred",
        "unassigned",
        "unlabeled",
        "unlocked",
        "unmarked_as_duplicate",
        "unpinned",
        "user_blocked",
    ]
)
KINDS = NOT_SHOWN | NOT_LISTED | BOTH
