import { MoqPlayer } from "./element/moq-player.ts";

export type { ShownFrame, State, TrackChoice } from "./player/messages.ts";
export type { Problem, ProblemCode } from "./player/problem.ts";
export type { AudioStats, Distribution, PlayerStats, VideoStats } from "./player/stats.ts";
export { MoqPlayer };

if (!customElements.get("moq-player")) customElements.define("moq-player", MoqPlayer);

declare global {
	interface HTMLElementTagNameMap {
		"moq-player": MoqPlayer;
	}
}
