package simulator

import (
	"bufio"
	"bytes"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"time"

	"github.com/einmal/einmal/internal/domain/gsm"
)

// Outcome is what the simulator did with a submit_sm.
type Outcome string

// The outcomes of the ledger.
const (
	Accepted  Outcome = "accepted"
	Rejected  Outcome = "rejected"
	Throttled Outcome = "throttled"
	Ignored   Outcome = "ignored" // neither taken nor answered
)

// Entry is one submit_sm as the simulator saw it.
type Entry struct {
	At           time.Time
	SystemID     string
	Seq          uint32  // sequence number of the submit_sm
	Reference    *uint16 // user_message_reference, or nil
	Source       string  // addresses as on the wire
	Destination  string
	MessageID    string // empty unless accepted
	ShortMessage []byte
	Segment      *Segment // which part of a long message it was; nil: a text that is whole
	Outcome      Outcome
}

// Segment names a part of a long message.
type Segment struct {
	Reference uint16 `json:"reference"` // the same for all of its parts
	Number    uint8  `json:"number"`    // from 1 to Total
	Total     uint8  `json:"total"`
}

func segmentOf(c gsm.Concat) *Segment {
	if c.Total == 0 {
		return nil
	}
	return &Segment{c.Reference, c.Sequence, c.Total}
}

// line is an entry's form in the file.
type line struct {
	At           string   `json:"at"` // RFC 3339, microseconds
	SystemID     string   `json:"system_id"`
	Seq          uint32   `json:"seq"`
	Reference    *uint16  `json:"reference"`
	Source       string   `json:"source"`
	Destination  string   `json:"destination"`
	MessageID    string   `json:"message_id"`
	ShortMessage string   `json:"short_message_hex"`
	Segment      *Segment `json:"segment,omitempty"`
	Outcome      Outcome  `json:"outcome"`
}

const stampLayout = "2006-01-02T15:04:05.000000Z07:00"

// ledger is a file that is only ever added to. Several processes may share one.
type ledger struct{ file *os.File }

// openLedger opens the file, or none where path is empty.
func openLedger(path string) (*ledger, error) {
	if path == "" {
		return &ledger{}, nil
	}
	f, err := os.OpenFile(path, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
	if err != nil {
		return nil, fmt.Errorf("simulator: the ledger cannot be opened: %w", err)
	}
	return &ledger{f}, nil
}

// add writes one line with one write(2), so that a kill leaves whole lines and lines never mix.
func (l *ledger) add(e Entry) error {
	if l.file == nil {
		return nil
	}
	b, err := json.Marshal(line{
		At: e.At.UTC().Format(stampLayout), SystemID: e.SystemID, Seq: e.Seq, Reference: e.Reference,
		Source: e.Source, Destination: e.Destination, MessageID: e.MessageID,
		ShortMessage: hex.EncodeToString(e.ShortMessage), Segment: e.Segment, Outcome: e.Outcome,
	})
	if err != nil {
		return err
	}
	_, err = l.file.Write(append(b, '\n'))
	return err
}

func (l *ledger) close() error {
	if l.file == nil {
		return nil
	}
	return l.file.Close()
}

// ReadLedger reads a ledger's entries in the order in which they were written. A last line without its end is
// left out: its write did not finish, so no answer left either.
func ReadLedger(path string) ([]Entry, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	var all []Entry
	for r := bufio.NewReader(f); ; {
		b, err := r.ReadBytes('\n')
		if errors.Is(err, io.EOF) {
			return all, nil
		}
		if err != nil {
			return all, err
		}
		e, err := readLine(b)
		if err != nil {
			return all, fmt.Errorf("simulator: line %d of the ledger: %w", len(all)+1, err)
		}
		all = append(all, e)
	}
}

func readLine(b []byte) (Entry, error) {
	var l line
	dec := json.NewDecoder(bytes.NewReader(b))
	dec.DisallowUnknownFields()
	if err := dec.Decode(&l); err != nil {
		return Entry{}, err
	}
	at, err1 := time.Parse(time.RFC3339Nano, l.At)
	octets, err2 := hex.DecodeString(l.ShortMessage)
	return Entry{
		At: at, SystemID: l.SystemID, Seq: l.Seq, Reference: l.Reference, Source: l.Source,
		Destination: l.Destination, MessageID: l.MessageID, ShortMessage: octets, Segment: l.Segment, Outcome: l.Outcome,
	}, errors.Join(err1, err2)
}
