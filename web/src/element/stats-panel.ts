import type { Distribution, PlayerStats } from "../player/stats.ts";
import { Chart } from "./chart.ts";

const ms = (x: number): string => (Math.abs(x) >= 1000 ? `${+(x / 1000).toFixed(1)} s` : `${Math.round(x)} ms`);
const rate = (bits: number): string =>
	bits >= 999_500 ? `${(bits / 1e6).toFixed(1)} Mbit/s` : `${Math.round(bits / 1e3)} kbit/s`;
const shortRate = (bits: number): string =>
	bits >= 999_500 ? `${+(bits / 1e6).toFixed(1)} M` : `${Math.round(bits / 1e3)} k`;
const opt = (x: number | undefined, format: (x: number) => string): string => (x === undefined ? "–" : format(x));

/** A track's name without what all of them begin with. */
const short = (name: string | undefined): string => name?.replace(/^video-/, "") ?? "";

/** The statistics below the picture: numbers, and charts of the last minute. */
export class StatsPanel {
	readonly element: HTMLElement;
	readonly #numbers = new Map<string, HTMLElement>();
	readonly #delay = new Chart({
		title: "Capture to screen",
		series: [
			{ label: "", color: "--good" },
			{ label: "", color: "--better" },
			{ label: "95 %", color: "--warm", dashed: true },
		],
		top: 100,
		format: ms,
	});
	readonly #lateness = new Chart({
		title: "Lateness, 95 %",
		series: [
			{ label: "", color: "--good" },
			{ label: "", color: "--better" },
			{ label: "sound", color: "--warm" },
		],
		top: 20,
		format: ms,
	});
	readonly #buffer = new Chart({
		title: "Buffer and skew",
		series: [
			{ label: "buffer", color: "--good" },
			{ label: "A/V skew", color: "--warm" },
		],
		top: 80,
		format: ms,
	});
	readonly #bitrate = new Chart({
		title: "Bit rate",
		series: [
			{ label: "", color: "--good" },
			{ label: "", color: "--better" },
			{ label: "sound", color: "--warm" },
		],
		top: 1e6,
		format: shortRate,
	});

	constructor() {
		this.element = document.createElement("section");
		this.element.className = "stats";
		this.element.setAttribute("aria-label", "Statistics");
		const numbers = document.createElement("dl");
		numbers.className = "numbers";
		for (const [key, label, title] of [
			["showing", "Showing", "The rendition on the screen"],
			["delay", "Delay", "From capture to screen; true if the clocks of both machines are"],
			["buffer", "Buffer", "How long frames wait so that late ones are in time"],
			["skew", "A/V skew", "How much later the sound is than the picture"],
			["framerate", "Frames", "Pictures shown in the last second"],
			["bitrate", "Bit rate", "All tracks together"],
			["rtt", "Round trip", "Of the connection, where the browser tells"],
			["cancelled", "Cancelled", "Groups given up because they were too late"],
			["dropped", "Dropped", "Groups not shown to their end for other reasons"],
			["audio", "Sound by", "How the sound travels"],
			["lost", "Lost sound", "Packets of sound that came too late or not at all"],
			["first", "First picture", "From the start to the first picture"],
		] as const) {
			const row = document.createElement("div");
			const dt = document.createElement("dt");
			const dd = document.createElement("dd");
			dt.textContent = label;
			row.title = title;
			dd.textContent = "–";
			row.append(dt, dd);
			numbers.append(row);
			this.#numbers.set(key, dd);
		}
		const charts = document.createElement("div");
		charts.className = "charts";
		charts.append(this.#delay.element, this.#lateness.element, this.#buffer.element, this.#bitrate.element);
		this.element.append(numbers, charts);
	}

	clear(): void {
		for (const c of [this.#delay, this.#lateness, this.#buffer, this.#bitrate]) c.clear();
		for (const dd of this.#numbers.values()) dd.textContent = "–";
	}

	update(s: PlayerStats): void {
		const [small, better] = s.video;
		const shown = s.video.find((v) => v.name === s.showing);
		const sum = (f: (v: (typeof s.video)[number]) => number) => String(s.video.reduce((n, v) => n + f(v), 0));
		this.#set("showing", short(s.showing) || "–");
		this.#set("delay", opt(shown?.delay?.p50, ms));
		this.#set("buffer", opt(s.buffer, ms));
		this.#set("skew", opt(s.skew, ms));
		this.#set("framerate", `${s.framerate} /s`);
		this.#set("bitrate", rate(s.bitrate));
		this.#set(
			"rtt",
			opt(s.rtt, (x) => `${x.toFixed(1)} ms`),
		);
		this.#set(
			"cancelled",
			sum((v) => v.cancelled),
		);
		this.#set(
			"dropped",
			sum((v) => v.dropped),
		);
		this.#set("audio", s.audio ? (s.audio.datagrams ? "datagrams" : "streams") : "–");
		this.#set("lost", s.audio ? String(s.audio.lost) : "–");
		this.#set("first", opt(s.firstPicture, ms));
		if (!this.element.isConnected || this.element.hidden) return;

		const p50 = (d: Distribution | undefined) => d?.p50;
		const p95 = (d: Distribution | undefined) => d?.p95;
		for (const c of [this.#delay, this.#lateness, this.#bitrate]) {
			c.name(0, short(small?.name));
			c.name(1, short(better?.name));
		}
		this.#delay.push(s.at, [p50(small?.delay), p50(better?.delay), p95(shown?.delay)]);
		this.#lateness.push(s.at, [p95(small?.lateness), p95(better?.lateness), p95(s.audio?.lateness)]);
		this.#buffer.push(s.at, [s.buffer, s.skew]);
		this.#bitrate.push(s.at, [small?.bitrate, better?.bitrate, s.audio?.bitrate]);
	}

	#set(key: string, text: string): void {
		const dd = this.#numbers.get(key);
		if (dd && dd.textContent !== text) {
			dd.textContent = text;
		}
	}
}
