// Package doctor looks at what a gateway stands on, and says of each thing whether it is sound and what to run next. It
// changes nothing and takes nothing away from a gateway that runs; what it cannot see it says.
package doctor

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/einmal/einmal/internal/app"
	"github.com/einmal/einmal/internal/ground/secret"
	"github.com/einmal/einmal/internal/store/sqlstore"
)

// Level is how a thing is.
type Level string

// The levels, the worst last.
const (
	OK   Level = "ok"
	Warn Level = "warn" // it works, and should not stay so
	Fail Level = "fail" // it does not work, or loses something
)

// Finding is what is said of one thing.
type Finding struct {
	Check string `json:"check"`
	Level Level  `json:"level"`
	Text  string `json:"text"`
	Next  string `json:"next,omitempty"` // what to run or do
}

// Options say what to look at.
type Options struct {
	Sources app.Sources
	Bind    bool             // bind to the carriers, which may end the binds of a gateway that runs
	Now     func() time.Time // the node's clock; nil: time.Now
	// Free is how many bytes may still be written under a folder; nil: what the system says.
	Free func(dir string) (int64, error)
}

// patience bounds a question to anybody else.
const patience = 5 * time.Second

// examination is one look at everything.
type examination struct {
	Options
	cfg     app.Loaded
	running bool // a gateway works on the data folder
	gateway *gateway
	keys    *secret.Folder       // nil: they cannot be read
	missing string               // the keys that are not there
	store   *sqlstore.Inspection // nil: it cannot be reached
	found   []Finding
}

func (e *examination) say(check string, level Level, next, format string, args ...any) {
	e.found = append(e.found, Finding{check, level, fmt.Sprintf(format, args...), next})
}

func (e *examination) ok(check, format string, args ...any) { e.say(check, OK, "", format, args...) }

// Examine looks at everything, in the order in which a gateway needs it.
func Examine(ctx context.Context, o Options) []Finding {
	if o.Now == nil {
		o.Now = time.Now
	}
	if o.Free == nil {
		o.Free = freeBytes
	}
	e := &examination{Options: o}
	var err error
	if e.cfg, err = o.Sources.Load(); err != nil {
		e.say("configuration", Fail, "mend it, and look at it with  einmal config", "%s", oneLine(err))
		return e.found
	}
	e.ok("configuration", "it can be read, and so can the policy %s", e.cfg.Policy)
	for _, check := range []func(context.Context){
		e.variables, e.folder, e.askGateway, e.address, e.certificates, e.secrets, e.storeItself, e.matches, e.clients, e.mark, e.clock, e.connections, e.routes, e.webhooks, e.deliveries,
	} {
		check(ctx)
	}
	return e.found
}

// Worst is the worst level among findings.
func Worst(all []Finding) Level {
	worst := OK
	for _, f := range all {
		if f.Level == Fail || worst == OK {
			worst = f.Level
		}
	}
	return worst
}

// oneLine is an error as a sentence.
func oneLine(err error) string { return strings.Join(strings.Fields(err.Error()), " ") }
