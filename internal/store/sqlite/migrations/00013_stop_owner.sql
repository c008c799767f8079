-- +goose Up
-- A tenant's own stop of a scope stands beside the installation's: each is lifted by who set it.
drop index stop_in_force;
create unique index stop_in_force on stop (connection, tenant, purpose, owner) where lifted_at = 0;

-- +goose Down
drop index stop_in_force;
create unique index stop_in_force on stop (connection, tenant, purpose) where lifted_at = 0;
