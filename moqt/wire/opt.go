package wire

// Opt is a value that may be absent. The zero value is absent.
type Opt[T any] struct {
	value T
	ok    bool
}

// Some returns a present value.
func Some[T any](value T) Opt[T] { return Opt[T]{value: value, ok: true} }

// Get returns the value and whether it is present.
func (o Opt[T]) Get() (T, bool) { return o.value, o.ok }

// IsSet reports whether the value is present.
func (o Opt[T]) IsSet() bool { return o.ok }

// Or returns the value, or def if it is absent.
func (o Opt[T]) Or(def T) T {
	if o.ok {
		return o.value
	}
	return def
}
