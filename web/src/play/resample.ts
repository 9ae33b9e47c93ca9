/** Brings a block of sound to another rate by linear interpolation; the same rate costs nothing. */
export function resample(x: Float32Array, from: number, to: number): Float32Array {
	if (from === to || x.length === 0) return x;
	const n = Math.round((x.length * to) / from);
	const out = new Float32Array(n);
	const step = from / to;
	for (let i = 0; i < n; i++) {
		const at = i * step;
		const whole = Math.min(Math.floor(at), x.length - 1);
		const a = x[whole] as number;
		const b = x[Math.min(whole + 1, x.length - 1)] as number;
		out[i] = a + (b - a) * (at - whole);
	}
	return out;
}
