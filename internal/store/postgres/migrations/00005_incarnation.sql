-- +goose Up
-- The store's lives. A restore that was noticed holds the last one; its release begins the next (D20).
create table incarnation (
  n bigint primary key, id bytea not null, begun_at bigint not null,
  held_at bigint not null, why text not null,
  released_at bigint not null, as_of bigint not null, keep_pending bigint not null, person text not null, reason text not null
);
insert into incarnation (n, id, begun_at, held_at, why, released_at, as_of, keep_pending, person, reason)
  values (1, decode(replace(gen_random_uuid()::text, '-', ''), 'hex'), 0, 0, '', 0, 0, 0, '', '');

-- How many transactions each writer of a node has committed. Beside the store the node keeps the same numbers. A row
-- is updated by every transaction of its writer: room in its page keeps that cheap.
create table commit_number (node bytea not null, writer bigint not null, n bigint not null, primary key (node, writer)) with (fillfactor = 10);

-- +goose Down
drop table commit_number;
drop table incarnation;
