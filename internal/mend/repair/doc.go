// Package repair makes the arguments of a tool call fit the tool's input schema without changing
// what they mean, or explains why they do not fit. It does no I/O.
//
// A Gate (gate.go) decides about calls and words what is added to their responses. Schema.Arguments
// (arguments.go) checks the arguments of one call: decode, validate, repair only what the validator
// reports, validate again, and accept the result only if no value was lost or invented.
// Schema.Propose (closed.go) compares arguments that a model proposed with those that were sent.
//
// # Why a repair is safe
//
// A value that validates is never changed, and a valid call is sent byte for byte. Only what violates
// the schema is changed, on a copy, by one editor (edit.go), and values.go counts: no scalar may be lost
// or invented, except null, empty strings, values of the schema, and what a rule reports as released.
//
// The editor goes through the violations and makes the first change that applies to each: it takes
// arguments out of what surrounds them (unwrap.go), renames, fills in and leaves out keys (keys.go),
// and converts, splits and chooses values (convert.go). Changes have tiers. Silent ones have a single
// reading: "5" for an integer, a choice in a different case, a null for an optional field, a wrapper.
// Told ones may have several: one value for an array, a default, the only unknown key for the only
// missing one (tells.go). These apply only to tools that read or are idempotent, and are reported to
// the model. Guesses (guess.go), such as a similar name or a sample (sample.go), are made where no
// other change applies, and only in the example of a message (example.go), which starts with what was
// sent and is never sent itself.
//
// # What a caller reads
//
// finding.go turns violations, and the fields that a server's message names (complaint.go), into one list
// of findings. sentences.txt words each: its kind, what is wrong and what to do. issue.go renders a
// finding, explain.go composes the message, and words.go and document.go describe what a schema requires,
// in words and as JSON. phrases.txt is what servers say about arguments, and words.txt is what words in
// names and values mean.
//
// # What a schema proves
//
// Servers declare more than they check, so a schema is a hint until the server has enforced it
// (Decision.Answered, Enforced), unless the Gate is Authoritative. Until then only changes are made that
// mean the same to a server that does not check (lenient.go), and a call that does not fit is sent
// unchanged. A rejection (rejection.go) is recognized by its code or by the words of server libraries; for
// a call that does not match the schema, any words about arguments are enough. A rejection that names
// another tool, which a downstream server may have written, proves nothing. Explanations are added after
// the server's message, and no part of a response is replaced.
//
// A schema is untrusted input: it is compiled once, without a loader, and each call has a budget of steps
// and time (schema.go). What cannot be checked is sent unverified, but refused
// with ModeStrict.
//
// Propose compares each value with what was sent: trace.go finds its origin, form.go lists the changes of
// form that keep the meaning, dropped.go puts back what was left out. Any other value is the model's own
// (own.go): it must be in a field that was rejected or missing. Arguments that are not JSON are read along
// the proposal (text.go); if only parts of them can be read, the proposal is shown and never sent.
package repair
