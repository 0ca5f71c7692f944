import { z } from 'zod'

/**
 * The state of a model, in the words that scalers, gateways, the console and the command line share:
 *
 * - `serving`: a worker is ready.
 * - `short`: a worker is ready, but more slots are needed.
 * - `warming`: no worker is ready; one is starting or will be started.
 * - `stopped`: the model has no worker, and a request starts one.
 * - `starved`: no worker is ready, and no GPU was found for 10 min.
 * - `off`: no pool of the model may have a worker: each pool either has the maximum 0, or has no replica and was paused
 *   by an operator.
 * - `unserved`: no worker is ready, and no scaler reports that one will be.
 * - `fixed`: the catalog gives the model a fixed state (`fixedState`), in which its requests are always refused.
 * - `disabled`: the catalog has disabled the model.
 */
export const ModelState = z.enum([
  'serving',
  'short',
  'warming',
  'stopped',
  'starved',
  'off',
  'unserved',
  'fixed',
  'disabled',
])
export type ModelState = z.infer<typeof ModelState>

/** The states that a scaler reports. */
export const ScaledState = ModelState.extract(['serving', 'warming', 'stopped', 'starved', 'off'])
export type ScaledState = z.infer<typeof ScaledState>

/** The states that a catalog gives. */
export const CatalogState = ModelState.extract(['fixed', 'disabled'])
export type CatalogState = z.infer<typeof CatalogState>

/** Returns true if a scaler starts a worker, or starts one as soon as a request comes. */
export const isStarting = (state: ModelState | undefined): boolean =>
  state === 'warming' || state === 'stopped'

/** Returns true if a worker is ready, or a scaler starts one. */
export const isServable = (state: ModelState | undefined): boolean =>
  state === 'serving' || state === 'short' || isStarting(state)

/** Returns true if no worker will be ready soon. Of an `unserved` model this is not known. */
export const isHopeless = (state: ModelState): boolean => !isServable(state) && state !== 'unserved'

/**
 * The phase of one engine and its worker. `loading`: the worker is not connected to the engine, or the engine is not
 * healthy yet. `ready`: the worker pulls jobs. `cordoned`: it takes nothing more, runs what it has, and may come back.
 * `draining`: it takes nothing more and will stop. `sick`: the engine was restarted three times within ten minutes.
 */
export const WorkerPhase = z.enum(['loading', 'ready', 'cordoned', 'draining', 'sick'])
export type WorkerPhase = z.infer<typeof WorkerPhase>
