-- +goose Up
-- Connections that are administered while nodes run: settings as they were given, secrets by reference alone.
create table connection_setting (
  connection bigint primary key, settings text not null, enabled bigint not null, removed bigint not null,
  version bigint not null, changed_at bigint not null, changed_by text not null
);

-- Which messages leave over which connection. The list is replaced as a whole; its head is what changes are compared with.
create table route_head (id bigint primary key, version bigint not null, changed_at bigint not null, changed_by text not null);
insert into route_head (id, version, changed_at, changed_by) values (1, 0, 0, '');
create table route (
  position bigint primary key, purpose text not null, tenant bigint not null, prefix text not null, sender text not null, uses text not null
);

-- +goose Down
drop table route;
drop table route_head;
drop table connection_setting;
