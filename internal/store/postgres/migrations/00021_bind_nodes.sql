-- +goose Up
-- Which nodes want binds of a connection, and since when: by these, each knows its share of the slots.
create table bind_node (
  connection bigint not null, node bytea not null, since bigint not null, lease_until bigint not null,
  primary key (connection, node)
);

-- +goose Down
drop table bind_node;
