package otlp

import (
	"encoding/binary"
	"math"
	"time"
)

// message is a protobuf message that is being encoded. Fields are numbered as in OpenTelemetry's
// definitions.
type message []byte

// Wire types of protobuf.
const (
	wireVarint  = 0
	wireFixed64 = 1
	wireBytes   = 2
	wireFixed32 = 5
)

func (m *message) tag(field, wire int) { *m = binary.AppendUvarint(*m, uint64(field<<3|wire)) }

func (m *message) number(field int, n uint64) {
	m.tag(field, wireVarint)
	*m = binary.AppendUvarint(*m, n)
}

func (m *message) fixed64(field int, n uint64) {
	m.tag(field, wireFixed64)
	*m = binary.LittleEndian.AppendUint64(*m, n)
}

func (m *message) fixed32(field int, n uint32) {
	m.tag(field, wireFixed32)
	*m = binary.LittleEndian.AppendUint32(*m, n)
}

func (m *message) double(field int, n float64)  { m.fixed64(field, math.Float64bits(n)) }
func (m *message) time(field int, at time.Time) { m.fixed64(field, uint64(at.UnixNano())) }

// bytes appends bytes, a string or a message.
func (m *message) bytes(field int, b []byte) {
	m.tag(field, wireBytes)
	*m = binary.AppendUvarint(*m, uint64(len(b)))
	*m = append(*m, b...)
}

func (m *message) text(field int, s string) { m.bytes(field, []byte(s)) }

// packed appends repeated numbers of 64 bits.
func (m *message) packed(field int, numbers []uint64) {
	var all []byte
	for _, n := range numbers {
		all = binary.LittleEndian.AppendUint64(all, n)
	}
	m.bytes(field, all)
}

// attribute appends a KeyValue with a string.
func (m *message) attribute(field int, key, value string) {
	var any, pair message
	any.text(1, value)
	pair.text(1, key)
	pair.bytes(2, any)
	m.bytes(field, pair)
}

// request returns the request for one resource and scope. The signals of OTLP have the same frame:
// items are under 2 in the scope's message.
func request(resource []byte, version string, items [][]byte) []byte {
	var scope, inScope, inResource, whole message
	scope.text(1, "github.com/gauze-mcp/gauze")
	scope.text(2, version)
	inScope.bytes(1, scope)
	for _, item := range items {
		inScope.bytes(2, item)
	}
	inResource.bytes(1, resource)
	inResource.bytes(2, inScope)
	whole.bytes(1, inResource)
	return whole
}
