-- +goose Up
-- Versions in the order in which they came into force, when, and by whom. 0: never.
alter table policy add column n integer not null default 0;
alter table policy add column at integer not null default 0;
alter table policy add column made_by text not null default '';
update policy set n = version where name = (select name from policy_head where id = 1);
create index policy_by_n on policy (n) where n > 0;

-- What only monitors: 1. What was not done therefore: an action. What was compared, and under which key it was found.
alter table decision add column mode integer not null default 0;
alter table decision add column would integer not null default 0;
alter table decision add column mapped_by text not null default '';
alter table decision add column compared_id blob not null default x'';
alter table decision add column matched_key blob not null default x'';
update decision set compared_id = message_id where action = 2;

-- +goose Down
alter table decision drop column matched_key;
alter table decision drop column compared_id;
alter table decision drop column mapped_by;
alter table decision drop column would;
alter table decision drop column mode;
drop index policy_by_n;
alter table policy drop column made_by;
alter table policy drop column at;
alter table policy drop column n;
