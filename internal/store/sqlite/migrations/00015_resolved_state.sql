-- +goose Up
-- What a person said that a receipt stands for; empty: it says so itself. It tells a repeated resolution from another one.
alter table exception add column resolved_state text not null default '';

-- +goose Down
alter table exception drop column resolved_state;
