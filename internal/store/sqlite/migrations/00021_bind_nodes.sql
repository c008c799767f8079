-- +goose Up
-- Which nodes want binds of a connection, and since when: by these, each knows its share of the slots.
create table bind_node (
  connection integer not null, node blob not null, since integer not null, lease_until integer not null,
  primary key (connection, node)
);

-- +goose Down
drop table bind_node;
