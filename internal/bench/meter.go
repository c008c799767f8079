package bench

import (
	"os"
	"time"
)

// meter measures what some processes use, from its start to stop. Without any it is this process that works.
type meter struct {
	pids       []int
	server     server
	began      time.Time
	cpu, store time.Duration
}

func (b *bench) meter(pids ...int) *meter {
	if len(pids) == 0 {
		pids = []int{os.Getpid()}
	}
	m := &meter{pids: pids, server: b.server}
	m.cpu, m.store, m.began = m.used(), m.server.cpuTime(), time.Now()
	return m
}

func (m *meter) used() (sum time.Duration) {
	for _, pid := range m.pids {
		sum += cpuTime(pid)
	}
	return sum
}

// stop is what was measured while n items were done.
func (m *meter) stop(n int, latencies []time.Duration) sample {
	took := time.Since(m.began)
	return sample{Count: n, Took: took, Latencies: latencies, CPU: m.used() - m.cpu, StoreCPU: m.server.cpuTime() - m.store}
}
