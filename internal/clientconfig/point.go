package clientconfig

import "slices"

// Point changes the URL of an entry and nothing else.
func (c *Config) Point(e *Entry, address string) (Edit, error) {
	if c.Strict != nil || c.Doc == nil {
		return nil, Skipped("the client cannot parse this file")
	}
	for _, name := range append([]string{e.fields.URL}, e.fields.OtherURLs...) {
		if textOf(e.node, name) == "" {
			continue
		}
		for _, at := range [][]any{below(e.Path, name), below(e.Path, e.fields.Nest, name)} {
			edit := Edit{set(address, at)}
			if c.hasEffect([]*Entry{e}, edit, func(_, now *Entry) bool {
				return now.Spec.URL == address && slices.Equal(now.Spec.Header, e.Spec.Header)
			}) {
				return edit, nil
			}
		}
	}
	return nil, Skipped("the URL is written in a form that gauze cannot change safely")
}
