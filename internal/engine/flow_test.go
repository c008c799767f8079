package engine_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/einmal/einmal/internal/domain/message"
	"github.com/einmal/einmal/internal/ground/ident"
	"github.com/einmal/einmal/internal/store"
)

// BenchmarkPath is the whole path from the decision to the receipt's effect, on the embedded store and over SMPP
// to a message centre in the same process. One operation is one message; decisions come in batches of 200.
func BenchmarkPath(b *testing.B) {
	g := startGateway(b, settings{echo: true, window: 500, answer: 10 * time.Second, grace: time.Minute, every: time.Second})
	b.ResetTimer()
	var ids []ident.Message
	for n := 0; n < b.N; {
		var subs []store.Submission
		for ; n < b.N && len(subs) < 200; n++ {
			subs = append(subs, g.submission(fmt.Sprintf("B-%d", n), number("00")))
		}
		ids = append(ids, g.send(subs...)...)
	}
	for i := range ids { // every hundredth, not to measure the looking
		if i%100 == 0 || i == len(ids)-1 {
			g.await("a delivery", func() bool { return g.message(ids[i]).State == message.Delivered })
		}
	}
	b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "messages/s")
	b.StopTimer()
	for _, id := range ids {
		g.await("all deliveries", func() bool { return g.message(id).State == message.Delivered })
	}
}
