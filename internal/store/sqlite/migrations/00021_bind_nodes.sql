-- +goose Up
-- Which nodes want binds of a connection, and since when: by these, each knows its share of the slots.
create table bind_node (
  connection integer not null, node blob not null, since integer not null, lease_until integer not null,
  primary key (connection, node)
);

-- The oldest version of the schema whose releases can still work on this one. A migration that they cannot live with raises
-- it to its own number; all others leave it, and the release before goes on working beside the one that brought them.
insert into meta (name, value) values ('schema.min_reader', '21');

-- +goose Down
delete from meta where name = 'schema.min_reader';
drop table bind_node;
