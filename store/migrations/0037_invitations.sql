-- Who was asked to collaborate. What is answered, withdrawn or over is gone.
CREATE TABLE repository_invitation (
    id {id},
    repo_id BIGINT NOT NULL REFERENCES repository (id) ON DELETE CASCADE,
    invitee_id BIGINT NOT NULL REFERENCES account (id) ON DELETE CASCADE,
    inviter_id BIGINT REFERENCES account (id) ON DELETE SET NULL,
    role TEXT NOT NULL,
    created_at BIGINT NOT NULL,
    expires_at BIGINT NOT NULL          -- a whole second
);

CREATE INDEX repository_invitation_repository ON repository_invitation (repo_id, id);
CREATE INDEX repository_invitation_invitee ON repository_invitation (invitee_id, id);
CREATE INDEX repository_invitation_expiry ON repository_invitation (expires_at, id);

-- How many a repository has sent of late, whatever became of them.
CREATE TABLE invitation_sent (
    id {id},
    repo_id BIGINT NOT NULL REFERENCES repository (id) ON DELETE CASCADE,
    sent_at BIGINT NOT NULL
);

CREATE INDEX invitation_sent_repository ON invitation_sent (repo_id, sent_at);
