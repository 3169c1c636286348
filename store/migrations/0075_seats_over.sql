-- Seats are counted by indexes alone: all, but for those that are over.

CREATE INDEX assistant_seat_over ON assistant_seat (organization_id, expires_at) WHERE expires_at IS NOT NULL;
