package route

import "testing"

// The first rule that fits counts, and in it the first connection that can be used; a paused one where no other can.
//
// covers: X5
func TestChoose(t *testing.T) {
	rules := []Rule{
		{Purpose: "login", Use: []string{"fast", "slow"}},
		{Tenant: 7, Prefix: "49", Use: []string{"german"}},
		{Sender: "SHOP", Use: []string{"paused", "gone", "slow"}},
		{Prefix: "1", Use: []string{"paused", "other pause"}},
		{Prefix: "44", Use: []string{"gone"}},
		{Use: []string{"slow"}},
	}
	state := func(name string) State {
		return map[string]State{"fast": Usable, "slow": Usable, "german": Usable, "paused": Paused, "other pause": Paused}[name]
	}
	for name, c := range map[string]struct {
		q    Question
		want string
	}{
		"by purpose":                       {Question{Purpose: "login", Tenant: 7, Destination: "+4915112345678"}, "fast"},
		"by tenant and prefix":             {Question{Tenant: 7, Destination: "+4915112345678"}, "german"},
		"another tenant":                   {Question{Tenant: 8, Destination: "+4915112345678"}, "slow"},
		"another prefix":                   {Question{Tenant: 7, Destination: "+3312345678"}, "slow"},
		"the next where one is paused":     {Question{Sender: "SHOP", Destination: "+3312345678"}, "slow"},
		"a paused one where all are":       {Question{Destination: "+12025550100"}, "paused"},
		"no other rule where none is left": {Question{Destination: "+442079460000"}, ""},
		"the last":                         {Question{Destination: "+3312345678"}, "slow"},
	} {
		if got := Choose(rules, c.q, state); got != c.want {
			t.Errorf("%s: %q, want %q", name, got, c.want)
		}
	}
	if got := Choose(rules[:2], Question{Destination: "+3312345678"}, state); got != "" {
		t.Errorf("without a rule that fits: %q", got)
	}
}
