package receipt

import (
	"encoding/json"
	"strings"
	"unicode/utf8"

	"github.com/einmal/einmal/internal/domain/intent"
	"github.com/einmal/einmal/internal/ground/ident"
	"github.com/einmal/einmal/internal/ground/secret"
	"github.com/einmal/einmal/internal/provider"
	"github.com/einmal/einmal/internal/store"
)

// Logged is a provider's call in the form in which it is stored; the payload is the caller's to seal and set.
// Text columns hold text: U+0000 and broken UTF-8 are replaced in them, so that no call can be one that the
// store refuses for ever. The payload keeps every byte.
func Logged(key intent.Keyer, connection, idSpace int64, e *provider.RawEvent) *store.LoggedReceipt {
	p := e.Parsed
	if len(p.ExternalID) > provider.LongestID {
		p.Kind, p.ExternalID, p.Problem = provider.KindUnreadable, nil, "the message id is too long"
	}
	return &store.LoggedReceipt{
		// Receipts belong to the installation until they are matched: the partition in the id says nothing.
		ID: ident.NewReceipt(0), Connection: connection, IDSpace: idSpace, Kind: string(p.Kind),
		Headers: headersJSON(e.Headers), Peer: storable(e.Peer), Bind: storable(e.Bind),
		EventID: storable(p.EventID), ExternalID: p.ExternalID, Reference: referenceOf(&p),
		Status: storable(p.Status), State: p.State, ErrorCode: storable(p.ErrorCode),
		Source: storable(p.Source), Dest: storable(p.Dest),
		SubmitDate: storable(p.SubmitDate), DoneDate: storable(p.DoneDate),
		Parsed: parsedJSON(&p), Parser: storable(p.Parser),
		EventKey: EventKey(key, idSpace, e),
	}
}

// Place is what a receipt's payload is sealed to: its own row.
func Place(id ident.Receipt) []byte { return secret.Place("receipt", id) }

// contentNames are fields that an adapter may have put aside and that are a message's content: they stay in the
// sealed payload alone.
var contentNames = map[string]bool{"octets": true, "text": true}

func parsedJSON(p *provider.Parsed) string {
	out := store.Parsed{
		SourceTON: p.SourceTON, SourceNPI: p.SourceNPI, DestTON: p.DestTON, DestNPI: p.DestNPI,
		DataCoding: p.DataCoding, Extra: map[string]string{}, Problem: storable(p.Problem),
		SubmittedAt: p.SubmittedAt, DoneAt: p.DoneAt, ErrorMeaning: storable(p.ErrorMeaning),
	}
	for k, v := range p.Extra {
		if !contentNames[k] {
			out.Extra[storable(k)] = storable(v)
		}
	}
	for _, w := range p.Warnings {
		out.Warnings = append(out.Warnings, storable(w))
	}
	return toJSON(out)
}

func headersJSON(h map[string]string) string {
	clean := make(map[string]string, len(h))
	for k, v := range h {
		clean[storable(k)] = storable(v)
	}
	return toJSON(clean)
}

func toJSON(v any) string {
	b, err := json.Marshal(v)
	if err != nil {
		panic(err) // strings, numbers, lists and maps of them: it cannot be
	}
	return string(b)
}

// storable replaces what a text column cannot hold.
func storable(s string) string {
	if utf8.ValidString(s) && !strings.Contains(s, "\x00") {
		return s
	}
	return strings.ReplaceAll(strings.ToValidUTF8(s, string(utf8.RuneError)), "\x00", string(utf8.RuneError))
}
