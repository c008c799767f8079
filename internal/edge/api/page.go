package api

import (
	"encoding/base64"
	"encoding/binary"
	"time"

	"github.com/einmal/einmal/internal/ground/clock"
	"github.com/einmal/einmal/internal/store"
)

// List is a page of a list, the newest first where nothing else is said.
type List[T any] struct {
	Data []T     `json:"data" nullable:"false" doc:"The page's entries."`
	Next *string `json:"next" doc:"Give it as after to get the next page; null: there is none."`
}

// Paging is the paging of every list.
type Paging struct {
	After string `query:"after" maxLength:"64" doc:"Where the page before ended: its next."`
	Limit int    `query:"limit" minimum:"1" maximum:"200" default:"50" doc:"How many entries at most."`
}

// page reads the paging. One entry more than asked for is read, to know whether there is a next page.
func (in *Paging) page(d *decoder) store.Page {
	p := store.Page{Limit: in.Limit + 1}
	if in.After == "" {
		return p
	}
	raw, err := base64.RawURLEncoding.DecodeString(in.After)
	if err != nil || len(raw) != 24 {
		d.wrong("after", "not the next of a page: copy it whole")
		return p
	}
	p.At = clock.Micros(binary.BigEndian.Uint64(raw)) // the bits of it
	p.ID = [16]byte(raw[8:])
	return p
}

// paged makes a page of at most limit entries. place says where an entry stands in the list.
func paged[S, T any](limit int, found []S, view func(S) T, place func(S) (clock.Micros, [16]byte)) List[T] {
	l := List[T]{Data: make([]T, 0, min(limit, len(found)))}
	for i, s := range found {
		if i == limit {
			at, id := place(found[i-1])
			raw := append(binary.BigEndian.AppendUint64(nil, uint64(at)), id[:]...) // the bits of it
			next := base64.RawURLEncoding.EncodeToString(raw)
			l.Next = &next
			break
		}
		l.Data = append(l.Data, view(s))
	}
	return l
}

// moment reads a point in time of a query.
func (d *decoder) moment(parameter, value string) clock.Micros {
	if value == "" {
		return 0
	}
	t, err := time.Parse(time.RFC3339, value)
	if err != nil {
		d.wrong(parameter, "not a time: write it like 2026-12-31T10:00:00Z")
		return 0
	}
	return clock.FromTime(t)
}

// Stamp is stamp, for those who make views elsewhere.
func Stamp(t clock.Micros) *string { return stamp(t) }

// stamp writes a point in time (RFC 3339, UTC); nil for none.
func stamp(t clock.Micros) *string {
	if t == 0 {
		return nil
	}
	s := at(t)
	return &s
}

func at(t clock.Micros) string { return t.Time().Format(time.RFC3339Nano) }

// orNull gives nil for what is empty.
func orNull(s string) *string {
	if s == "" {
		return nil
	}
	return &s
}
