import { z } from 'zod'

/** Windows for which an overview tells the uptime, in hours. */
export const OVERVIEW_HOURS = { '24h': 24, '7d': 168, '30d': 720, '90d': 2160 } as const
/** How many buckets of five minutes an overview has. */
export const OVERVIEW_BUCKETS = 60

const share = z.number().nullable()

/** A monitor at a glance: what a row of a list of monitors shows. */
export const overviewSchema = z
  .object({
    uptime: z
      .object({ '24h': share, '7d': share, '30d': share, '90d': share })
      .meta({ description: '(up + degraded) of up, degraded and down seconds, 0–1; null when there are none.' }),
    recent: z
      .array(
        z.object({
          status: z.enum(['up', 'degraded', 'down']).nullable().meta({
            description: 'The worst of its heartbeats and of the state, which tells silence; null: nobody knows.'
          }),
          latency: z.number().nullable().meta({ description: 'Mean of heartbeats that said up or degraded, in ms.' })
        })
      )
      .meta({ description: '60 buckets of five minutes (UTC), oldest first; the last one is not over yet.' })
  })
  .meta({ id: 'MonitorOverview' })
export type OverviewAnswer = z.output<typeof overviewSchema>
