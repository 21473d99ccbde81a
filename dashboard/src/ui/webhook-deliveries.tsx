import { Badge, Button, Group, Modal, Stack, Table, Text } from '@mantine/core'
import { keepPreviousData, useMutation, useQuery, useQueryClient } from '@tanstack/react-query'
import { Fragment, useState } from 'react'
import { call } from '../api.ts'
import { AsyncView } from './async-view.tsx'
import { CopyBlock } from './copy-block.tsx'
import { Pager } from './pager.tsx'
import { ProblemAlert } from './problem-alert.tsx'
import { RelativeTime } from './relative-time.tsx'
import { type Channel, type Delivery, messageInWords, outcomeInWords } from './webhook-words.ts'
import { WideTable } from './wide-table.tsx'

const PAGE = 25
const STATUSES = {
  delivered: { color: 'teal', word: 'Delivered' },
  waiting: { color: 'blue', word: 'Waiting' },
  failed: { color: 'red', word: 'Failed' }
} as const

function Details({ delivery }: { delivery: Delivery }) {
  return (
    <Stack gap="xs" py="xs">
      <Text size="sm">What is posted, as webhook-id {delivery.id}:</Text>
      <CopyBlock text={JSON.stringify(JSON.parse(delivery.body), null, 2)} label="message" />
      {delivery.response ? (
        <>
          <Text size="sm">How the last answer began:</Text>
          <CopyBlock text={delivery.response} label="answer" />
        </>
      ) : null}
    </Stack>
  )
}

function DeliveryRow({ delivery, onResend }: { delivery: Delivery; onResend: (() => void) | undefined }) {
  const [opened, setOpened] = useState(false)
  const { color, word } = STATUSES[delivery.status]
  const message = messageInWords(delivery)
  return (
    <Fragment>
      <Table.Tr>
        <Table.Td>
          <RelativeTime at={delivery.createdAt} />
        </Table.Td>
        <Table.Td style={{ overflowWrap: 'anywhere' }}>{message}</Table.Td>
        <Table.Td>
          <Badge color={color} variant="filled" autoContrast tt="none">
            {word}
          </Badge>
        </Table.Td>
        <Table.Td ta="right">{delivery.attempts}</Table.Td>
        <Table.Td style={{ overflowWrap: 'anywhere' }}>
          {outcomeInWords(delivery)}
          {delivery.nextAttemptAt === null || delivery.attempts === 0 ? null : (
            <Text size="xs" c="dimmed">
              next try <RelativeTime at={delivery.nextAttemptAt} ahead />
            </Text>
          )}
        </Table.Td>
        <Table.Td>
          <Group gap={4} wrap="nowrap" justify="flex-end">
            <Button
              size="compact-sm"
              variant="default"
              aria-expanded={opened}
              aria-label={`Details of ${message}`}
              onClick={() => setOpened(!opened)}
            >
              Details
            </Button>
            {onResend === undefined ? null : (
              <Button size="compact-sm" variant="default" aria-label={`Send again: ${message}`} onClick={onResend}>
                Send again
              </Button>
            )}
          </Group>
        </Table.Td>
      </Table.Tr>
      {opened ? (
        <Table.Tr>
          <Table.Td colSpan={6}>
            <Details delivery={delivery} />
          </Table.Td>
        </Table.Tr>
      ) : null}
    </Fragment>
  )
}

function Deliveries({ rows, onResend }: { rows: readonly Delivery[]; onResend: ((id: string) => void) | undefined }) {
  return (
    <WideTable label="Messages" minWidth={680}>
      <Table verticalSpacing="xs">
        <Table.Thead>
          <Table.Tr>
            <Table.Th>When</Table.Th>
            <Table.Th>Message</Table.Th>
            <Table.Th>Status</Table.Th>
            <Table.Th ta="right">Tries</Table.Th>
            <Table.Th>Last answer</Table.Th>
            <Table.Th>
              <span className="visually-hidden">Actions</span>
            </Table.Th>
          </Table.Tr>
        </Table.Thead>
        <Table.Tbody>
          {rows.map((row) => (
            <DeliveryRow key={row.id} delivery={row} onResend={onResend && (() => onResend(row.id))} />
          ))}
        </Table.Tbody>
      </Table>
    </WideTable>
  )
}

/** What was sent to a webhook, page by page, the newest first. */
export function WebhookDeliveries({ channel, onClose }: { channel: Channel; onClose: () => void }) {
  const queries = useQueryClient()
  const params = { id: channel.id }
  // Cursors of the pages up to the one that is shown.
  const [cursors, setCursors] = useState<string[]>([])
  const cursor = cursors.at(-1)
  const query = useQuery({
    queryKey: ['channels', channel.id, 'deliveries', cursor ?? 'newest'],
    queryFn: ({ signal }) =>
      call('GET /v1/alerts/channels/{id}/deliveries', { params, query: { limit: PAGE, cursor } }, signal),
    refetchInterval: 3000,
    placeholderData: keepPreviousData
  })
  const resend = useMutation({
    mutationFn: (deliveryId: string) =>
      call('POST /v1/alerts/channels/{id}/deliveries/{deliveryId}/resend', { params: { ...params, deliveryId } }),
    onSettled: () => queries.invalidateQueries({ queryKey: ['channels'] })
  })
  return (
    <Modal
      opened
      onClose={onClose}
      size="min(960px, 100%)"
      title={`Messages to ${channel.name}`}
      closeButtonProps={{ 'aria-label': 'Close' }}
    >
      <Stack>
        <ProblemAlert error={resend.error} />
        {channel.enabled ? null : <Text size="sm">It is paused: what waits is sent when it is resumed.</Text>}
        <AsyncView query={query}>
          {({ data, nextCursor }) =>
            data.length === 0 ? (
              <Text c="dimmed">Nothing was sent in the last 30 days. Send a test call to see one here.</Text>
            ) : (
              <>
                <Deliveries rows={data} onResend={channel.enabled ? resend.mutate : undefined} />
                {cursor === undefined && nextCursor === null ? null : (
                  <Pager
                    cursors={cursors}
                    nextCursor={nextCursor}
                    isWaiting={query.isPlaceholderData}
                    onTurn={setCursors}
                  />
                )}
              </>
            )
          }
        </AsyncView>
      </Stack>
    </Modal>
  )
}
