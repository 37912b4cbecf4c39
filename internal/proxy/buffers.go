package proxy

import "sync"

// buffers keeps the buffers of answered calls for the next ones: a busy session would otherwise
// spend most of its time in garbage collection. It is not a sync.Pool, because requests and
// responses are handled on different processors, and each would find the other's part of it empty.
type buffers struct {
	mu   sync.Mutex
	free []*[]byte
}

const (
	maxFreeBuffers = 64
	maxFreeBuffer  = 64 << 10 // bytes; larger ones are left to the garbage collector
)

func (b *buffers) take() *[]byte {
	b.mu.Lock()
	defer b.mu.Unlock()
	if last := len(b.free) - 1; last >= 0 {
		buffer := b.free[last]
		b.free = b.free[:last]
		return buffer
	}
	return new([]byte)
}

func (b *buffers) giveBack(buffer *[]byte) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if len(b.free) < maxFreeBuffers && cap(*buffer) <= maxFreeBuffer {
		b.free = append(b.free, buffer)
	}
}
