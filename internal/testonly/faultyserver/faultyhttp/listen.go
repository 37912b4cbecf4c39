package faultyhttp

import (
	"encoding/json"
	"maps"
	"slices"
)

// listen is one open subscriptions/listen stream of the modern era.
type listen struct {
	id  json.RawMessage
	out *stream

	Tools     bool     `json:"toolsListChanged,omitempty"`
	Prompts   bool     `json:"promptsListChanged,omitempty"`
	Resources bool     `json:"resourcesListChanged,omitempty"`
	URIs      []string `json:"resourceSubscriptions,omitempty"`
}

// openListen sends the acknowledgement, which is the first message of the stream. Every later
// message has the id of the request as its subscription id.
func (c *call) openListen() (*listen, *refusal) {
	var p struct {
		Notifications *listen `json:"notifications"`
	}
	if json.Unmarshal(c.msg.Params, &p) != nil || p.Notifications == nil {
		return nil, refuse(0, -32602, "params.notifications is missing")
	}
	l := p.Notifications
	l.id, l.out = c.msg.ID, c.out
	l.URIs = slices.DeleteFunc(l.URIs, func(u string) bool { return !knownResource(u) })
	c.notify("notifications/subscriptions/acknowledged", object{"_meta": object{metaSubscription: l.id}, "notifications": l})
	if !l.Tools && !l.Prompts && !l.Resources && len(l.URIs) == 0 {
		c.endListen(l)
		return l, nil
	}
	c.s.mu.Lock()
	defer c.s.mu.Unlock()
	c.gen.listens[l] = true
	return l, nil
}

// closeListen removes the stream.
func (c *call) closeListen(l *listen) {
	c.s.mu.Lock()
	defer c.s.mu.Unlock()
	delete(c.gen.listens, l)
}

// endListen sends the response to a listen request when the stream ends.
func (c *call) endListen(l *listen) {
	c.out.add(event{data: response(l.id, object{"resultType": "complete", "_meta": object{metaSubscription: l.id}}), last: true})
}

// notifySubscribers sends a notification to the GET stream of each session and to each modern
// stream that asked for it.
func (s *Server) notifySubscribers(method string, params object, legacy func(*session) bool, modern func(*listen) bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.gen == nil {
		return
	}
	for _, x := range s.gen.sessions {
		x.mu.Lock()
		wants := legacy(x)
		x.mu.Unlock()
		if wants {
			x.standalone.add(event{data: notification(method, params)})
		}
	}
	for l := range s.gen.listens {
		if modern(l) {
			own := maps.Clone(params)
			if own == nil {
				own = object{}
			}
			own["_meta"] = object{metaSubscription: l.id}
			l.out.add(event{data: notification(method, own)})
		}
	}
}
