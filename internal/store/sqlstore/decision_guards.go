package sqlstore

import (
	"encoding/json"

	"github.com/einmal/einmal/internal/domain/intent"
)

// guardsText is how guards are stored: [rule, kind, result] each; "" for none, as most decisions have.
func guardsText(guards []intent.Guard) (string, error) {
	if len(guards) == 0 {
		return "", nil
	}
	all := make([][3]string, len(guards))
	for i, g := range guards {
		all[i] = [3]string{g.Rule, string(g.Kind), string(g.Result)}
	}
	text, err := json.Marshal(all)
	return string(text), err
}

func guardsOf(text string) ([]intent.Guard, error) {
	if text == "" {
		return nil, nil
	}
	var all [][3]string
	if err := json.Unmarshal([]byte(text), &all); err != nil {
		return nil, err
	}
	guards := make([]intent.Guard, len(all))
	for i, g := range all {
		guards[i] = intent.Guard{Rule: g[0], Kind: intent.GuardKind(g[1]), Result: intent.GuardResult(g[2])}
	}
	return guards, nil
}
