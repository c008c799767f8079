package policy

import (
	"os"
	"testing"
)

// BenchmarkParse is what a node pays for each version that was in force, once.
func BenchmarkParse(b *testing.B) {
	src, err := os.ReadFile("../../../examples/shop.yaml")
	if err != nil {
		b.Fatal(err)
	}
	b.SetBytes(int64(len(src)))
	for b.Loop() {
		if _, wrong := Parse("shop.yaml", src); wrong != nil {
			b.Fatal(wrong)
		}
	}
}
