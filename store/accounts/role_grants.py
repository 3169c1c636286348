"""The roles that were granted in repositories, to collaborators and to teams.

A team's role counts for its members as long as they are members of the organization.
"""

GRANTS = (
    "(SELECT repo_id, account_id, role FROM collaborator UNION ALL"
    " SELECT t.repo_id, m.account_id, t.role FROM team_repository t JOIN team e ON e.id = t.team_id"
    " JOIN team_member m ON m.team_id = t.team_id JOIN membership s"
    " ON s.organization_id = e.organization_id AND s.account_id = m.account_id)"
)
"""SQL for all grants: `repo_id`, `account_id` and `role`."""
