package live

import (
	"bytes"
	"encoding/json"
)

// MarshalJSON puts the numbers of the server beside what else it is: programs read one flat object.
func (s Server) MarshalJSON() ([]byte, error) {
	type others Server
	return merged(others(s), s.Counts)
}

// UnmarshalJSON reads what MarshalJSON returns.
func (s *Server) UnmarshalJSON(object []byte) error {
	type others Server
	if err := json.Unmarshal(object, (*others)(s)); err != nil {
		return err
	}
	return json.Unmarshal(object, &s.Counts)
}

// MarshalJSON puts the server beside its details.
func (d Detail) MarshalJSON() ([]byte, error) {
	type others Detail
	return merged(d.Server, others(d))
}

// UnmarshalJSON reads what MarshalJSON returns.
func (d *Detail) UnmarshalJSON(object []byte) error {
	type others Detail
	if err := json.Unmarshal(object, &d.Server); err != nil {
		return err
	}
	return json.Unmarshal(object, (*others)(d))
}

// merged returns the members of two objects as one object. Whether characters of HTML are escaped is
// up to the encoder that calls it.
func merged(first, second any) ([]byte, error) {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(first); err != nil {
		return nil, err
	}
	b.Truncate(b.Len() - len("}\n"))
	b.WriteByte(',')
	at := b.Len()
	if err := enc.Encode(second); err != nil {
		return nil, err
	}
	return append(b.Bytes()[:at], b.Bytes()[at+len("{"):]...), nil
}
