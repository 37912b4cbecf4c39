package faultyserver

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
)

// listenFor serves subscriptions/listen. The acknowledgement is the first message of the stream,
// the response comes when the stream ends, and every notification in between has the id of the
// request as its subscription id.
func (s *server) listenFor(ctx context.Context, m *message, _ bool) (string, *refusal) {
	var p struct {
		Notifications *listen `json:"notifications"`
	}
	if json.Unmarshal(m.Params, &p) != nil || p.Notifications == nil {
		return "", &refusal{code: -32602, text: "params.notifications is missing"}
	}
	l := *p.Notifications
	l.ID = nil
	l.URIs = slices.DeleteFunc(l.URIs, func(u string) bool { return !s.knows(u) })
	agreed, _ := json.Marshal(l)
	l.ID = m.ID
	s.session.change(func(x *session) { x.Listens = append(x.Listens, l) })
	s.notify("notifications/subscriptions/acknowledged",
		fmt.Sprintf(`{"_meta":{"%s":%s},"notifications":%s}`, metaSubscription, rawID(m.ID), agreed))
	m.opened()
	if l.Tools || l.Prompt || l.Res || len(l.URIs) > 0 {
		<-ctx.Done()
	}
	s.session.change(func(x *session) {
		x.Listens = slices.DeleteFunc(x.Listens, func(o listen) bool { return string(o.ID) == string(m.ID) })
	})
	if context.Cause(ctx) == errCancelled {
		return "", nil
	}
	return fmt.Sprintf(`{"resultType":"complete","_meta":{"%s":%s}}`, metaSubscription, rawID(m.ID)), nil
}

// changed notifies the clients that asked for it that a list changed. kind is tools, prompts or
// resources.
func (s *server) changed(kind string) {
	method := "notifications/" + kind + "/list_changed"
	s.notifySubscribers(method, "", func(x *session) bool { return x.Initialized }, func(l listen) bool {
		return kind == "tools" && l.Tools || kind == "prompts" && l.Prompt || kind == "resources" && l.Res
	})
}

// updated notifies the subscribers of a resource that it changed.
func (s *server) updated(uri string) {
	s.notifySubscribers("notifications/resources/updated", `"uri":`+quote(uri),
		func(x *session) bool { return slices.Contains(x.Subscribed, uri) },
		func(l listen) bool { return slices.Contains(l.URIs, uri) })
}

// notifySubscribers sends a notification once to the legacy session and once to each modern stream
// that asked for it.
func (s *server) notifySubscribers(method, fields string, legacy func(*session) bool, modern func(listen) bool) {
	var plain bool
	var ids []json.RawMessage
	s.session.change(func(x *session) {
		plain = legacy(x)
		for _, l := range x.Listens {
			if modern(l) {
				ids = append(ids, l.ID)
			}
		}
	})
	if plain {
		s.notify(method, "{"+fields+"}")
	}
	if fields != "" {
		fields = "," + fields
	}
	for _, id := range ids {
		s.notify(method, fmt.Sprintf(`{"_meta":{"%s":%s}%s}`, metaSubscription, rawID(id), fields))
	}
}
