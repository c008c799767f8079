package receipt

import (
	"bytes"
	"fmt"
	"math/big"
)

// Respelling is another way to write an id, and what a connection would have to declare for the two to meet.
type Respelling struct {
	ID       []byte
	Declared IDs
}

// Respellings lists how the answer to a submission may have written the id of a receipt that nothing has matched.
// It serves a hint to a person: nothing is ever matched by it.
func Respellings(id []byte) []Respelling {
	var all []Respelling
	add := func(d IDs, spelt string) {
		if spelt != string(id) {
			all = append(all, Respelling{[]byte(spelt), d})
		}
	}
	if n, ok := new(big.Int).SetString(string(id), 10); ok && number(id, 10) != nil {
		for _, format := range []string{"%x", "%X", "%08x", "%08X", "%016x", "%016X"} {
			add(IDs{Response: Hex, Receipt: Decimal}, fmt.Sprintf(format, n))
		}
	}
	if n, ok := new(big.Int).SetString(string(id), 16); ok && number(id, 16) != nil {
		add(IDs{Response: Decimal, Receipt: Hex}, n.String())
	}
	add(IDs{AnyCase: true}, string(lower(id)))
	add(IDs{AnyCase: true}, string(bytes.ToUpper(id)))
	add(IDs{AnyZeros: true}, string(bytes.TrimLeft(id, "0")))
	if number(id, 10) != nil {
		for _, width := range []int{8, 10, 16, 20} {
			add(IDs{AnyZeros: true}, fmt.Sprintf("%0*s", width, id))
		}
	}
	return all
}

// Words says what is declared, as it stands in a configuration.
func (d IDs) Words() string {
	switch {
	case d.Response.base() != 0:
		return fmt.Sprintf("{response: %s, receipt: %s}", d.Response, d.Receipt)
	case d.AnyCase:
		return "{case: insensitive}"
	case d.AnyZeros:
		return "{zeros: ignored}"
	}
	return "{}"
}
