-- +goose Up
-- What lies long is forgotten but for what somebody still needs. These lead to what may go, past what may not.
create index exception_closed on exception (id) where state > 1;
create index exception_of_group on exception (tenant, connection, kind, hour) where state > 1;
create index exception_guessed on exception (id) where state = 1 and length(candidates) > 0;
create index exception_open_by_time on exception (at, id) where state = 1;
create index exception_group_over on exception_group (hour) where open = 0;
create index external_id_waiting on external_id (substr(waiting, 1, 16)) where length(candidates) = 0 and length(waiting) > 0;
create index webhook_delivery_open on webhook_delivery (message_id) where state < 3;
-- Open exceptions went with the rest before, and their groups went on counting them.
update exception_group set open = (select count(*) from exception x where x.tenant = exception_group.tenant
  and x.connection = exception_group.connection and x.kind = exception_group.kind and x.hour = exception_group.hour and x.state = 1)
  where open > 0;

-- +goose Down
drop index webhook_delivery_open;
drop index external_id_waiting;
drop index exception_group_over;
drop index exception_open_by_time;
drop index exception_guessed;
drop index exception_of_group;
drop index exception_closed;
