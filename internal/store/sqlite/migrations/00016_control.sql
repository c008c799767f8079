-- +goose Up
-- How often something that is administered has changed: tenants, keys, connections, prices. Nodes read it to know that
-- what they hold is old.
create table control (id bigint primary key, version bigint not null);
insert into control (id, version) values (1, 0);

-- +goose Down
drop table control;
