package flow_test

import (
	"testing"

	"github.com/einmal/einmal/internal/domain/flow"
)

// covers: I9
func TestSharesAreFairAndMakeUpTheWhole(t *testing.T) {
	for binds := range 12 {
		for nodes := 1; nodes < 9; nodes++ {
			sum, least, most := 0, binds, 0
			for rank := range nodes {
				got := flow.BindShare(binds, nodes, rank)
				sum, least, most = sum+got, min(least, got), max(most, got)
				if rank > 0 && got > flow.BindShare(binds, nodes, rank-1) {
					t.Errorf("%d binds, %d nodes: the one at place %d has more than the one before it", binds, nodes, rank)
				}
			}
			if sum != binds || most-least > 1 {
				t.Errorf("%d binds, %d nodes: %d are shared out, from %d to %d each", binds, nodes, sum, least, most)
			}
		}
	}
}

// One node that leaves costs no other node a bind: those behind it move up, those before it stay.
func TestNobodyLosesABindByAnotherThatLeaves(t *testing.T) {
	for binds := range 12 {
		for nodes := 2; nodes < 9; nodes++ {
			for rank := range nodes {
				before := flow.BindShare(binds, nodes, rank)
				if rank > 0 && flow.BindShare(binds, nodes-1, rank-1) < before {
					t.Errorf("%d binds, %d nodes: the one at place %d loses by one before it", binds, nodes, rank)
				}
				if rank < nodes-1 && flow.BindShare(binds, nodes-1, rank) < before {
					t.Errorf("%d binds, %d nodes: the one at place %d loses by one behind it", binds, nodes, rank)
				}
			}
		}
	}
}

func TestNobodyHasAShareWhoIsNotInLine(t *testing.T) {
	for _, c := range [][3]int{{4, 0, 0}, {4, 2, 2}, {4, 2, -1}, {0, 1, 0}} {
		if got := flow.BindShare(c[0], c[1], c[2]); got != 0 {
			t.Errorf("%v: %d", c, got)
		}
	}
}
