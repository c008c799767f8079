-- +goose Up
-- How a text is cut: its parts, their data coding (SMPP 3.4, 5.2.19), and what ties them together. It is chosen once,
-- so that what has left in part is never cut in another way. 0 parts: an older release has not said.
alter table message add column parts bigint not null default 0;
alter table message add column data_coding bigint not null default 0;
alter table message add column joined_by text not null default '';

-- What the answer said of the text; a repeat says the same.
alter table decision add column parts bigint not null default 0;
alter table decision add column data_coding bigint not null default 0;

-- The claim under which a part was opened: it opens each part once.
alter table attempt_part add column fence bigint not null default 0;

-- +goose Down
alter table attempt_part drop column fence;
alter table decision drop column data_coding;
alter table decision drop column parts;
alter table message drop column joined_by;
alter table message drop column data_coding;
alter table message drop column parts;
