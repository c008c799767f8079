-- +goose Up
-- Who has its row locked forgets what is old: one node at a time.
insert into meta (name, value) values ('historian', '');

-- +goose Down
delete from meta where name = 'historian';
