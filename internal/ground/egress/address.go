// Package egress makes HTTP clients for addresses that others have chosen. They go to public addresses alone, follow no
// redirect, take no proxy from the environment, and send a request once.
//
// What counts is the address that is dialled, not the name that was given: a name may have another address a moment
// later. Everything here fails closed.
package egress

import "net/netip"

// closed are the networks that nobody outside may have the gateway reach, with what they are. An IPv6 form that carries
// an IPv4 address is refused whatever it carries: a translator on the way would reach the inside.
var closed = prefixes(
	"0.0.0.0/8",       // this network (RFC 791)
	"10.0.0.0/8",      // private (RFC 1918)
	"100.64.0.0/10",   // carrier-grade NAT (RFC 6598); metadata services of some clouds
	"127.0.0.0/8",     // loopback
	"169.254.0.0/16",  // link-local (RFC 3927); metadata services
	"172.16.0.0/12",   // private
	"192.0.0.0/24",    // protocol assignments (RFC 6890)
	"192.0.2.0/24",    // documentation (RFC 5737)
	"192.31.196.0/24", // AS112 (RFC 7535)
	"192.52.193.0/24", // automatic multicast tunnelling (RFC 7450)
	"192.88.99.0/24",  // 6to4 relays (RFC 7526)
	"192.168.0.0/16",  // private
	"192.175.48.0/24", // AS112 (RFC 7534)
	"198.18.0.0/15",   // benchmarks (RFC 2544)
	"198.51.100.0/24", // documentation
	"203.0.113.0/24",  // documentation
	"224.0.0.0/4",     // multicast
	"240.0.0.0/4",     // reserved, and broadcast

	"::/8",          // unspecified, loopback, IPv4-compatible and -mapped, NAT64 (64:ff9b::/96, 64:ff9b:1::/48)
	"100::/64",      // discard (RFC 6666)
	"2001::/23",     // protocol assignments: Teredo (2001::/32), benchmarks (2001:2::/48), ORCHID
	"2001:db8::/32", // documentation
	"2002::/16",     // 6to4
	"3fff::/20",     // documentation (RFC 9637)
	"5f00::/16",     // segment routing (RFC 9602)
	"fc00::/7",      // unique local, with metadata services (fd00:ec2::254)
	"fe80::/10",     // link-local
	"fec0::/10",     // site-local
	"ff00::/8",      // multicast
)

// open is where the rest of the world is.
var open = prefixes("0.0.0.0/0", "2000::/3")

func prefixes(all ...string) []netip.Prefix {
	p := make([]netip.Prefix, len(all))
	for i, s := range all {
		p[i] = netip.MustParsePrefix(s)
	}
	return p
}

func within(all []netip.Prefix, a netip.Addr) bool {
	for _, p := range all {
		if p.Contains(a) {
			return true
		}
	}
	return false
}

// Rules say where a client may go beside public addresses, and how.
type Rules struct {
	Allow []netip.Prefix // networks that are allowed all the same
	HTTP  bool           // addresses without TLS, too
}

// Permits reports whether an address may be dialled. A mapped one counts as what it maps to only where that is allowed
// by name: public addresses are dialled as themselves.
func (r Rules) Permits(a netip.Addr) bool {
	if !a.IsValid() {
		return false
	}
	if plain := a.WithZone(""); within(r.Allow, plain.Unmap()) {
		return true
	}
	if a.Zone() != "" || a.Is4In6() {
		return false
	}
	return within(open, a) && !within(closed, a)
}

// permitsPort leaves out the ports of other services: an answer of a mail server tells, too.
func permitsPort(port uint16) bool { return port == 80 || port == 443 || port > 1023 }
