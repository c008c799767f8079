package telemetry

import (
	"context"
	"encoding"
	"fmt"
	"io"
	"log/slog"
	"reflect"
	"strings"
)

const maskedValue = "[masked]"

// secretKeys are the attributes that are never written, whatever they hold.
var secretKeys = map[string]bool{
	"text": true, "code": true, "secret": true, "password": true, "authorization": true, "token": true, "key": true,
}

// Format says how log lines are written.
type Format string

// The formats.
const (
	JSON Format = "json"
	Text Format = "text"
)

// NewLogger writes masked lines to w.
func NewLogger(w io.Writer, format Format, level slog.Leveler) *slog.Logger {
	opts := &slog.HandlerOptions{Level: level}
	if format == JSON {
		return slog.New(Masked(slog.NewJSONHandler(w, opts)))
	}
	return slog.New(Masked(slog.NewTextHandler(w, opts)))
}

// Masked puts masking in front of a handler.
func Masked(next slog.Handler) slog.Handler { return &masking{next: next} }

type masking struct{ next slog.Handler }

func (m *masking) Enabled(ctx context.Context, l slog.Level) bool { return m.next.Enabled(ctx, l) }

func (m *masking) Handle(ctx context.Context, r slog.Record) error {
	clean := slog.NewRecord(r.Time, r.Level, Mask(r.Message), r.PC)
	r.Attrs(func(a slog.Attr) bool {
		clean.AddAttrs(maskAttr(a))
		return true
	})
	return m.next.Handle(ctx, clean)
}

func (m *masking) WithAttrs(attrs []slog.Attr) slog.Handler {
	return &masking{next: m.next.WithAttrs(maskAttrs(attrs))}
}

func (m *masking) WithGroup(name string) slog.Handler {
	return &masking{next: m.next.WithGroup(name)}
}

func maskAttrs(attrs []slog.Attr) []slog.Attr {
	clean := make([]slog.Attr, len(attrs))
	for i, a := range attrs {
		clean[i] = maskAttr(a)
	}
	return clean
}

func maskAttr(a slog.Attr) slog.Attr {
	if secretKeys[strings.ToLower(a.Key)] {
		return slog.String(a.Key, maskedValue)
	}
	return slog.Attr{Key: Mask(a.Key), Value: maskValue(a.Value)}
}

func maskValue(v slog.Value) slog.Value {
	v = v.Resolve()
	switch v.Kind() {
	case slog.KindString:
		return slog.StringValue(Mask(v.String()))
	case slog.KindGroup:
		return slog.GroupValue(maskAttrs(v.Group())...)
	case slog.KindAny:
		return slog.StringValue(Mask(written(v.Any())))
	}
	return v // numbers, booleans, times and durations are no phone numbers: those are typed values of their own
}

// written turns any value into text before it is masked: a handler further down would find its own way to
// print it, and that way leads around the mask.
func written(v any) string {
	if p := reflect.ValueOf(v); p.Kind() == reflect.Pointer && p.IsNil() {
		return "<nil>"
	}
	switch x := v.(type) {
	case error:
		return x.Error()
	case fmt.Stringer:
		return x.String()
	case encoding.TextMarshaler:
		if b, err := x.MarshalText(); err == nil {
			return string(b)
		}
	case []byte:
		return fmt.Sprintf("%d bytes", len(x))
	}
	return fmt.Sprintf("%+v", v)
}
