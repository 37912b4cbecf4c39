package clientconfig

// Variables are the names of the variables an entry sets, or has handed on.
func (e Entry) Variables() (names []string) {
	if m, ok := member(e.node, e.fields.Env); ok {
		for name := range m.Members() {
			names = append(names, name)
		}
	}
	if m, ok := member(e.node, e.fields.EnvNames); ok {
		names = append(names, words(m)...)
	}
	return names
}

// Variable is the value of one as it is written, a reference maybe.
func (e Entry) Variable(name string) (string, bool) {
	m, ok := member(e.node, e.fields.Env)
	if !ok {
		return "", false
	}
	value, ok := member(m, name)
	if !ok {
		return "", false
	}
	return text(value)
}
