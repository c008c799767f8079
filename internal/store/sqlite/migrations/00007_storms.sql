-- +goose Up
-- How often a key was asked for again: the minute's beginning, the count, the run's decision; empty for most.
alter table register add column repeats blob not null default x'';

-- Repeats that were counted with a decision instead of being recorded one by one.
create table run (decision_id blob primary key, last_at integer not null, count integer not null);

-- +goose Down
drop table run;
alter table register drop column repeats;
