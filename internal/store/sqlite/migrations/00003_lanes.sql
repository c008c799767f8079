-- +goose Up
-- A flow has its purpose too, and its number says where it stands: connection, lane and tenant in the high bits, 47,
-- 44 and 32 of them below (domain/flow). Flows of one lane are neighbours in the queue then, and so are a tenant's.
create table flow_next (
  id integer primary key, connection integer not null, lane integer not null, tenant integer not null, sender text not null, purpose text not null,
  unique (connection, lane, tenant, sender, purpose)
);
insert into flow_next (id, connection, lane, tenant, sender, purpose)
  select connection * 140737488355328 + lane * 17592186044416 + tenant * 4294967296
      + row_number() over (partition by connection, lane, tenant order by sender, purpose),
    connection, lane, tenant, sender, purpose
  from (select distinct f.connection, f.lane, f.tenant, f.sender, m.purpose from message m join flow f on f.id = m.flow) used;
update message set flow = (select n.id from flow f join flow_next n on n.connection = f.connection and n.lane = f.lane
    and n.tenant = f.tenant and n.sender = f.sender and n.purpose = message.purpose where f.id = message.flow)
  where flow in (select id from flow);
update message_state set queue = (select m.flow from message m where m.id = message_state.message_id) where queue >= 16;
drop table flow;
alter table flow_next rename to flow;

-- Until when a connection's credit, or a sender's on it, is spent; sender '': the connection's own.
create table credit (connection integer not null, sender text not null, spent integer not null, primary key (connection, sender)) without rowid;

-- Emergency stops: what is waiting and fits is not claimed. connection 0, tenant 0 and purpose '' fit everything.
create table stop (
  id blob primary key, connection integer not null, tenant integer not null, purpose text not null,
  at integer not null, owner integer not null, person text not null, reason text not null, caller text not null,
  lifted_at integer not null, lifted_by text not null, lifted_reason text not null, lifted_caller text not null
);
create unique index stop_in_force on stop (connection, tenant, purpose) where lifted_at = 0;
create index stop_by_time on stop (at, id);

-- +goose Down
drop table stop;
drop table credit;
create table flow_before (
  id integer primary key, connection integer not null, lane integer not null, tenant integer not null, sender text not null,
  unique (connection, lane, tenant, sender)
);
insert into flow_before (id, connection, lane, tenant, sender) select min(id), connection, lane, tenant, sender from flow group by connection, lane, tenant, sender;
update message set flow = (select b.id from flow f join flow_before b on b.connection = f.connection and b.lane = f.lane
    and b.tenant = f.tenant and b.sender = f.sender where f.id = message.flow)
  where flow in (select id from flow);
update message_state set queue = (select m.flow from message m where m.id = message_state.message_id) where queue >= 16;
drop table flow;
alter table flow_before rename to flow;
