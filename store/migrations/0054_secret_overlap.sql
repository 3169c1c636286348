-- A hook's former secret, for as long as deliveries are signed with it, too.
ALTER TABLE hook ADD COLUMN previous_secret {blob};     -- sealed
ALTER TABLE hook ADD COLUMN previous_until BIGINT;

CREATE INDEX hook_previous ON hook (previous_until) WHERE previous_until IS NOT NULL;
