package demo

import (
	"context"

	"github.com/einmal/einmal/internal/domain/gsm"
	"github.com/einmal/einmal/internal/edge/api/handset"
	"github.com/einmal/einmal/internal/provider/simulator"
)

// counter counts the texts that are on phones: what the simulated carrier accepted, as its ledger has it, or as the
// handsets show it.
func (s *stage) counter(ctx context.Context, intents []*intent) (map[string]int, error) {
	if s.gateway.Ledger != "" {
		return countLedger(s.gateway.Ledger)
	}
	count, seen := map[string]int{}, map[string]bool{}
	for _, it := range intents {
		if seen[it.to] {
			continue
		}
		seen[it.to] = true
		var got handset.Messages
		if err := s.get(ctx, "/v1/handset/"+it.to, &got); err != nil {
			return nil, err
		}
		for _, m := range got.Data {
			count[m.Text]++
		}
	}
	return count, nil
}

func countLedger(path string) (map[string]int, error) {
	entries, err := simulator.ReadLedger(path)
	count := map[string]int{}
	for _, e := range entries {
		if e.Outcome == simulator.Accepted {
			text, _ := gsm.Decode(gsm.CodingDefault, e.ShortMessage) // the demonstration's texts are of one part
			count[text]++
		}
	}
	return count, err
}
