/** One line of a chart. */
export interface Series {
	label: string;
	/** Name of a custom property with the colour. */
	color: string;
	/** Drawn with dashes. */
	dashed?: boolean;
}

interface Point {
	at: number;
	values: (number | undefined)[];
}

export interface ChartConfig {
	title: string;
	series: Series[];
	/** The axis covers this at least. */
	top: number;
	bottom?: number;
	format(x: number): string;
}

/** How long the chart goes back, in milliseconds. */
const SPAN = 60_000;

/** A small line chart of the last minute. */
export class Chart {
	readonly element: HTMLElement;
	readonly #config: ChartConfig;
	readonly #canvas: HTMLCanvasElement;
	readonly #labels: HTMLElement[];
	#points: Point[] = [];

	constructor(config: ChartConfig) {
		this.#config = config;
		this.element = document.createElement("figure");
		const caption = document.createElement("figcaption");
		const title = document.createElement("b");
		title.textContent = config.title;
		caption.append(title);
		this.#labels = config.series.map((s) => {
			const span = document.createElement("span");
			span.style.setProperty("--c", `var(${s.color})`);
			span.classList.toggle("dash", s.dashed === true);
			caption.append(span);
			return span;
		});
		this.#canvas = document.createElement("canvas");
		this.#canvas.setAttribute("aria-hidden", "true");
		this.element.append(caption, this.#canvas);
		this.clear();
	}

	clear(): void {
		this.#points = [];
		this.#caption();
	}

	/** Gives a line another name; an empty one takes it out of the legend. */
	name(series: number, label: string): void {
		const s = this.#config.series[series];
		if (s) s.label = label;
	}

	push(at: number, values: (number | undefined)[]): void {
		this.#points.push({ at, values });
		while (this.#points[0] && this.#points[0].at < at - SPAN - 2000) this.#points.shift();
		this.#caption();
		this.draw(at);
	}

	#caption(): void {
		const last = this.#points.at(-1)?.values ?? [];
		for (const [i, s] of this.#config.series.entries()) {
			const label = this.#labels[i];
			if (!label) continue;
			const v = last[i];
			label.textContent = `${s.label} ${v === undefined ? "–" : this.#config.format(v)}`;
			label.hidden = s.label === "";
		}
	}

	draw(now: number): void {
		const canvas = this.#canvas;
		const ratio = devicePixelRatio || 1;
		const w = canvas.clientWidth;
		const h = canvas.clientHeight;
		if (w === 0 || h === 0) return;
		if (canvas.width !== Math.round(w * ratio) || canvas.height !== Math.round(h * ratio)) {
			canvas.width = Math.round(w * ratio);
			canvas.height = Math.round(h * ratio);
		}
		const c = canvas.getContext("2d");
		if (!c) return;
		const style = getComputedStyle(this.element);
		const color = (name: string) => style.getPropertyValue(name).trim();
		c.setTransform(ratio, 0, 0, ratio, 0, 0);
		c.clearRect(0, 0, w, h);
		const { low, high, step } = this.#axis();
		const left = 52;
		const bottom = h - 16;
		const x = (at: number) => w - 4 - ((now - at) / SPAN) * (w - left - 4);
		const y = (v: number) => bottom - ((v - low) / (high - low)) * (bottom - 8);
		c.font = "10.5px system-ui, sans-serif";
		c.fillStyle = resolve(this.element, "--ink-2") || "#888";
		c.strokeStyle = resolve(this.element, "--line") || "#ddd";
		c.lineWidth = 1;
		c.textAlign = "right";
		c.textBaseline = "middle";
		for (let v = low; v <= high + step / 2; v += step) {
			const at = Math.round(y(v)) + 0.5;
			c.beginPath();
			c.moveTo(left, at);
			c.lineTo(w - 4, at);
			c.stroke();
			c.fillText(this.#config.format(v), left - 6, at);
		}
		c.textBaseline = "alphabetic";
		for (const [seconds, align] of [
			[60, "left"],
			[30, "center"],
			[0, "right"],
		] as const) {
			c.textAlign = align;
			c.fillText(seconds === 0 ? "now" : `−${seconds} s`, x(now - seconds * 1000), h - 3);
		}
		c.save();
		c.beginPath();
		c.rect(left, 0, w - left, bottom + 2);
		c.clip();
		for (const [i, s] of this.#config.series.entries()) {
			c.strokeStyle = resolve(this.element, s.color) || color(s.color);
			c.lineWidth = s.dashed ? 1.2 : 1.8;
			c.setLineDash(s.dashed ? [4, 3] : []);
			c.lineJoin = "round";
			c.beginPath();
			let open = false;
			for (const p of this.#points) {
				const v = p.values[i];
				if (v === undefined) {
					open = false;
					continue;
				}
				if (open) c.lineTo(x(p.at), y(v));
				else c.moveTo(x(p.at), y(v));
				open = true;
			}
			c.stroke();
			this.#mark(c, i, x, y, bottom);
		}
		c.restore();
	}

	/** Shades what is below the first line, and puts a dot at the end of each that is not dashed. */
	#mark(
		c: CanvasRenderingContext2D,
		series: number,
		x: (at: number) => number,
		y: (v: number) => number,
		bottom: number,
	): void {
		const run: [number, number][] = [];
		for (const p of this.#points.toReversed()) {
			const v = p.values[series];
			if (v === undefined) break;
			run.push([x(p.at), y(v)]);
		}
		const [last] = run;
		if (!last || this.#config.series[series]?.dashed) return;
		c.fillStyle = c.strokeStyle;
		if (series === 0 && run.length > 1) {
			c.globalAlpha = 0.1;
			c.beginPath();
			c.moveTo(last[0], bottom);
			for (const [px, py] of run) c.lineTo(px, py);
			c.lineTo(run.at(-1)?.[0] ?? 0, bottom);
			c.fill();
			c.globalAlpha = 1;
		}
		c.beginPath();
		c.arc(last[0], last[1], 2.6, 0, 2 * Math.PI);
		c.fill();
	}

	/** Bounds of the axis, and a step that gives three to five round lines. */
	#axis(): { low: number; high: number; step: number } {
		let low = this.#config.bottom ?? 0;
		let high = this.#config.top;
		for (const p of this.#points) {
			for (const v of p.values) {
				if (v === undefined) continue;
				low = Math.min(low, v);
				high = Math.max(high, v);
			}
		}
		const rough = (high - low) / 3;
		const power = 10 ** Math.floor(Math.log10(rough));
		const step = ([1, 2, 2.5, 5, 10].find((m) => m * power >= rough) ?? 10) * power;
		return { low: Math.floor(low / step) * step, high: Math.ceil(high / step) * step, step };
	}
}

/** A colour as the canvas takes it: light-dark() and the like have to be worked out by the style of an element. */
function resolve(near: HTMLElement, property: string): string {
	const probe = document.createElement("i");
	probe.style.color = `var(${property})`;
	near.append(probe);
	const color = getComputedStyle(probe).color;
	probe.remove();
	return color;
}
