package event

import (
	"context"
	"log/slog"
)

// LogValue implements [slog.LogValuer].
func (e Event) LogValue() slog.Value {
	return slog.GroupValue(append([]slog.Attr{slog.String("kind", string(e.Kind))}, e.attrs()...)...)
}

// Log writes the event to a logger as a record with its fields, without secrets. stopping is whether
// the server is being stopped, so that its exit is expected.
func (e Event) Log(ctx context.Context, logger *slog.Logger, stopping bool) {
	logger.LogAttrs(ctx, e.Kind.level(stopping), "gauze: "+string(e.Kind), e.attrs()...)
}

// attrs returns the fields that are set, except Kind, without secrets.
func (e Event) attrs() (attrs []slog.Attr) {
	clean := e.Quoted()
	text := func(key, value string) {
		if value != "" {
			attrs = append(attrs, slog.String(key, value))
		}
	}
	number := func(key string, value int) {
		if value != 0 {
			attrs = append(attrs, slog.Int(key, value))
		}
	}
	text("server", clean.Server)
	number("generation", clean.Generation)
	number("pid", clean.PID)
	text("method", clean.Method)
	text("tool", clean.Tool)
	text("task", clean.Task)
	text("client", clean.Client)
	text("ended", clean.Reason)
	text("from", clean.From)
	text("to", clean.To)
	number("count", clean.Count)
	text("code", string(clean.Code))
	text("detail", clean.Detail)
	text("cause", clean.Cause.Code)
	text("explanation", clean.Cause.Explanation)
	text("remedy", clean.Cause.Remedy)
	if m := clean.Model; m != nil {
		text("model", m.Model)
		text("reason", m.Reason)
		text("before", string(m.Before))
		text("after", string(m.After))
		number("input_tokens", m.InputTokens)
		number("output_tokens", m.OutputTokens)
		if m.Cost > 0 {
			attrs = append(attrs, slog.Float64("cost", m.Cost))
		}
	}
	if clean.Took > 0 {
		attrs = append(attrs, slog.Duration("took", clean.Took))
	}
	return attrs
}

// level returns the level at which an event is logged. stopping is whether the server is being
// stopped, so that its exit is expected.
func (k Kind) level(stopping bool) slog.Level {
	switch k {
	case Died:
		if !stopping {
			return slog.LevelWarn
		}
	case GaveUp:
		return slog.LevelError
	case Opened, Hung, Refused, LoginEnded, LoginUnsaved, LoginNeeded, Unknown, Failed, TimedOut, Quarantined:
		return slog.LevelWarn
	case ProbeMissed, Stray, Dropped:
		return slog.LevelDebug
	}
	return slog.LevelInfo
}
