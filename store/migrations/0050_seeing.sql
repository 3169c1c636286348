-- What is looked at often must not cost what is stored.

-- With the moment beside the lease, what a worker has held for longest is the first of its entries.
DROP INDEX delivery_leased;
CREATE INDEX delivery_leased ON delivery (lease_id, due_at) WHERE lease_id IS NOT NULL;

CREATE INDEX hook_disabled ON hook (id) WHERE disabled_reason IS NOT NULL AND deleted_at IS NULL;
CREATE INDEX hook_failing ON hook (id) WHERE failing_since IS NOT NULL AND deleted_at IS NULL;

-- A worker says with its lease when it was last there, and how far it was behind then.
ALTER TABLE lease ADD COLUMN seen_at BIGINT NOT NULL DEFAULT 0;
ALTER TABLE lease ADD COLUMN lag BIGINT NOT NULL DEFAULT 0;     -- microseconds

-- Written to find out whether it can be.
CREATE TABLE probe (
    id INTEGER PRIMARY KEY,
    tried_at BIGINT NOT NULL
);
