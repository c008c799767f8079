package cli

import "testing"

func TestReachable(t *testing.T) {
	for listen, want := range map[string]struct {
		address    string
		everywhere bool
	}{
		"127.0.0.1:8080":     {"127.0.0.1:8080", false},
		"192.0.2.7:8080":     {"192.0.2.7:8080", false},
		"[::]:8080":          {"127.0.0.1:8080", true},
		"0.0.0.0:9":          {"127.0.0.1:9", true},
		"sms.example.net:80": {"sms.example.net:80", false},
	} {
		if address, everywhere := reachable(listen); address != want.address || everywhere != want.everywhere {
			t.Errorf("%s: %s %v", listen, address, everywhere)
		}
	}
}
