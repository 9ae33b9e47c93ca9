/** How the time is drawn as bars: bits of the milliseconds since 1970, the highest first, each a cell of the lower edge. */
export const TIME_BITS = 42;

/**
 * A picture that is made here, for where there is no camera: a moving sky, the time of day in digits, and the same time
 * in bars that a program can read off the screen.
 */
export class Pattern {
	readonly canvas = document.createElement("canvas");
	readonly #context: CanvasRenderingContext2D;
	#timer: ReturnType<typeof setInterval> | undefined;

	constructor(width: number, height: number) {
		this.canvas.width = width;
		this.canvas.height = height;
		const c = this.canvas.getContext("2d", { alpha: false });
		if (!c) throw new Error("no canvas context");
		this.#context = c;
	}

	/** Draws at a rate, and hands out the time drawn, in milliseconds since 1970. */
	start(framerate: number, frame: (time: number) => void): void {
		const began = performance.now();
		let n = 0;
		this.#timer = setInterval(
			() => {
				const due = Math.floor(((performance.now() - began) * framerate) / 1000);
				if (due < n) return;
				n = due + 1;
				const time = performance.timeOrigin + performance.now();
				this.draw(time);
				frame(time);
			},
			1000 / framerate / 4,
		);
	}

	stop(): void {
		clearInterval(this.#timer);
	}

	draw(time: number): void {
		const c = this.#context;
		const { width: w, height: h } = this.canvas;
		const turn = (time % 8000) / 8000;
		const sky = c.createLinearGradient(0, 0, w, h);
		sky.addColorStop(0, `hsl(${Math.round(200 + 40 * Math.sin(turn * 2 * Math.PI))} 70% 18%)`);
		sky.addColorStop(0.5 + 0.3 * Math.sin(turn * 2 * Math.PI), "hsl(175 60% 32%)");
		sky.addColorStop(1, "hsl(262 55% 26%)");
		c.fillStyle = sky;
		c.fillRect(0, 0, w, h);

		// A hand that turns once a second shows lost and doubled frames.
		const [x, y, r] = [w * 0.8, h * 0.42, h * 0.2];
		const angle = ((time % 1000) / 1000) * 2 * Math.PI - Math.PI / 2;
		c.lineWidth = h * 0.012;
		c.strokeStyle = "rgb(255 255 255 / .35)";
		c.beginPath();
		c.arc(x, y, r, 0, 2 * Math.PI);
		c.stroke();
		c.strokeStyle = c.fillStyle = "#fff";
		c.beginPath();
		c.arc(x, y, r, angle - 0.9, angle);
		c.stroke();
		c.beginPath();
		c.arc(x + r * Math.cos(angle), y + r * Math.sin(angle), h * 0.022, 0, 2 * Math.PI);
		c.fill();

		const iso = new Date(time).toISOString();
		c.font = `600 ${h * 0.17}px ui-monospace, "DejaVu Sans Mono", monospace`;
		c.textBaseline = "middle";
		c.fillText(iso.slice(14, 21), w * 0.06, h * 0.42);
		c.font = `${h * 0.05}px system-ui, "DejaVu Sans", sans-serif`;
		c.fillStyle = "rgb(255 255 255 / .8)";
		c.fillText("moq-c4 test pattern", w * 0.065, h * 0.22);
		c.fillText(`${iso.slice(0, 10)} ${iso.slice(11, 13)} h UTC`, w * 0.065, h * 0.6);

		const cell = w / TIME_BITS;
		const bits = Math.floor(time);
		for (let i = 0; i < TIME_BITS; i++) {
			const bit = Math.floor(bits / 2 ** (TIME_BITS - 1 - i)) % 2;
			c.fillStyle = bit ? "#fff" : "#000";
			c.fillRect(i * cell, h * 0.88, cell + 1, h * 0.12);
		}
	}
}

/** Reads the bars off a picture, in milliseconds since 1970. */
export function readTime(pixels: Uint8ClampedArray, width: number, height: number): number {
	let time = 0;
	const row = Math.floor(height * 0.94) * width;
	for (let i = 0; i < TIME_BITS; i++) {
		const at = row + Math.floor(((i + 0.5) * width) / TIME_BITS);
		time = time * 2 + ((pixels[at * 4] ?? 0) > 127 ? 1 : 0);
	}
	return time;
}
