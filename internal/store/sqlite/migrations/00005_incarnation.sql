-- +goose Up
-- The store's lives. A restore that was noticed holds the last one; its release begins the next (D20).
create table incarnation (
  n integer primary key, id blob not null, begun_at integer not null,
  held_at integer not null, why text not null,
  released_at integer not null, as_of integer not null, keep_pending integer not null, person text not null, reason text not null
);
insert into incarnation (n, id, begun_at, held_at, why, released_at, as_of, keep_pending, person, reason)
  values (1, randomblob(16), 0, 0, '', 0, 0, 0, '', '');

-- How many transactions each writer of a node has committed. Beside the store the node keeps the same numbers.
create table commit_number (node blob not null, writer integer not null, n integer not null, primary key (node, writer)) without rowid;

-- +goose Down
drop table commit_number;
drop table incarnation;
